export { type ConformanceOptions, type ConformanceTest, loadConformanceSuite } from "./conformance.js";
export { withoutSharedWorkspace } from "./without-shared-workspace.js";

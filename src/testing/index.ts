export { type ConformanceOptions, type ConformanceTest, loadConformanceSuite } from "./conformance.js";

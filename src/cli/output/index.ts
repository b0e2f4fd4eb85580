export { paintFor } from "./colour.js";
export { jsonText } from "./json-text.js";
export { localTime, parseMoment } from "./local-time.js";
export { Output, stderr, stdout } from "./output.js";
export { sizeText, withProgress } from "./progress.js";
export { reportError } from "./report-error.js";
export { formatTable } from "./table.js";

export { fetchFile, openHostFile, putFile, requireFile, writeHostFiles } from "./host-files.js";
export { Interrupt } from "./interrupt.js";
export { neighboursOf, type ProgramFile } from "./neighbours.js";
export { guessLanguage, readOnlyProgram, readProgram, readText } from "./program-source.js";

import { afterAll } from "vitest";
import { cleanUpAfterFile } from "./clean-up.js";

afterAll(cleanUpAfterFile);

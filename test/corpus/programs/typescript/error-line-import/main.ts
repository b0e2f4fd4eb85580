import { boom } from "./lib";
boom<string>("x");

import "./does-not-exist.mjs";

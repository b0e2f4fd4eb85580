#!/usr/bin/env node
console.log("with shebang", new Error().stack.split("\n")[1].split("/").pop());

// ./skerry run examples/hello.js
console.log(`Hello from Node ${process.version}, in ${process.cwd()}.`);

let text = "";
for await (const chunk of process.stdin) text += chunk;
console.log(text.length, process.stdin.isTTY, process.stdin.fd);

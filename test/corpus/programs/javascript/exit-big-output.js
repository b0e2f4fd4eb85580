for (let i = 0; i < 5000; i++) console.log("line", i, "x".repeat(60));
process.exitCode = 1;

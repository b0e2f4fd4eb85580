process.stdout.write("y".repeat(200000) + "\n", () => process.exit(2));

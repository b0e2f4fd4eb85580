const x = await new Promise((r) => setTimeout(r, 5, "awaited"));
console.log(x);

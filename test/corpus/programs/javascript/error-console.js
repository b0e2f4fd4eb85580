console.error(new Error("logged"));
console.log({ e: new RangeError("nested") });

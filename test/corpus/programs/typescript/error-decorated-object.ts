const dec = (...a: any[]): any => {};
const made = { @dec m() {} };
console.log("never", made);

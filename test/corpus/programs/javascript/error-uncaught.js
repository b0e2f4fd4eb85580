function inner() {
  throw new TypeError("broken", { cause: new Error("root") });
}
inner();

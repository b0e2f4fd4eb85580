Promise.any([Promise.reject(new Error("a")), Promise.reject(new Error("b"))]).catch((e) => console.log(e.name, e.errors.map((x) => x.message)));
throw new AggregateError([new Error("inner")], "several");

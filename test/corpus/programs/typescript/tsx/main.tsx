const React = { createElement: (t: string, p: object | null, ...c: unknown[]) => ({ t, p, c }) };
console.log(JSON.stringify(<div id="x">hi {1 + 1}</div>));

// ./skerry run examples/hello.ts
interface Greeting {
  readonly to: string;
}

const greet = ({ to }: Greeting): string => `Hello from TypeScript, ${to}.`;
console.log(greet({ to: process.argv[2] ?? "world" }));

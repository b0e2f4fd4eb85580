import { name } from "config";
export const greet = (): string => `from ${name}`;

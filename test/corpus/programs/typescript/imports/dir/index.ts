export const inner = [1, 2] as number[];

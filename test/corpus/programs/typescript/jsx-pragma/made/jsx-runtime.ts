export const jsx = (t: string, p: object) => ({ jsx: t, ...p });
export const jsxs = jsx;

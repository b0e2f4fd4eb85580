export const Fragment = "fragment";
export const h = (t: any, p: object | null, ...c: unknown[]): unknown => (typeof t === "function" ? t(p) : { t, p, c });

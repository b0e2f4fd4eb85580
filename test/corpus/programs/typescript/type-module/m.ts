export const v: number = 7;

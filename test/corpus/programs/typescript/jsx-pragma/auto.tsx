/** @jsxRuntime automatic */
/** @jsxImportSource ./made */
export const auto = <p class="x">text</p>;

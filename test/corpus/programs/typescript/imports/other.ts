export let other = "other" as const;

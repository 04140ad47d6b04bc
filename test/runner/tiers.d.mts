export const TIERS: readonly string[];
export function tierOf(path: string, text: string): string | undefined;
export function isRandom(text: string): boolean;

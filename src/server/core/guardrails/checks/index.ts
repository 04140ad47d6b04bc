export * from "./americas.ts";
export * from "./asia.ts";
export * from "./coins.ts";
export * from "./europe.ts";
export * from "./identity-dates.ts";
export * from "./letters.ts";
export * from "./numerals.ts";

/** The header a provider reads its key from; `both` sends `x-api-key` and `authorization`. */
export type KeyHeader = "bearer" | "x-api-key" | "api-key" | "both";

/** Signing in at a gateway's identity provider, and the token that other verbs present. */

export { hasBrowser } from "./browser.ts";
export type { SignIn } from "./entry.ts";
export { type Caller, type Offer, readOffers, whoAmI } from "./gateway-requests.ts";
export { type GatewayUrl, isExposed, parseGatewayUrl } from "./gateway-url.ts";
export { type Lock, underLock } from "./lock.ts";
export { printable, SignInError, timeText } from "./messages.ts";
export { obtain } from "./obtain.ts";
export { type Listed, openStore, type Store, type Stored } from "./store.ts";
export { type TokenSource, tokenSource } from "./token-source.ts";

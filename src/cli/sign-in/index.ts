/** Signing in at a gateway's identity provider, and the token that other verbs present. */

export { type Caller, readCaller, readOffers, type SignInOffer } from "./gateway-requests.ts";
export { isExposed, parseGatewayUrl } from "./gateway-url.ts";
export { obtainSignIn } from "./obtain-sign-in.ts";
export { hasBrowser } from "./open-browser.ts";
export type { SignIn } from "./sign-in-entry.ts";
export { printable, SignInError, timeText } from "./sign-in-errors.ts";
export { withLock } from "./sign-in-lock.ts";
export { type ListedSignIn, openSignInStore, type SignInStore } from "./sign-in-store.ts";
export { createTokenSource } from "./token-source.ts";

/** Signing in at a gateway's identity provider, and the token that other verbs present. */

export { hasBrowser } from "./browser.ts";
export type { SignIn } from "./entry.ts";
export { type Caller, readCaller, readOffers, type SignInOffer } from "./gateway-requests.ts";
export { type GatewayUrl, isExposed, parseGatewayUrl } from "./gateway-url.ts";
export { type Lock, withLock } from "./lock.ts";
export { printable, SignInError, timeText } from "./messages.ts";
export { obtainSignIn } from "./obtain.ts";
export {
  type ListedSignIn,
  openSignInStore,
  type SignInStore,
  type StoredSignIn,
} from "./store.ts";
export { createTokenSource, type TokenSource } from "./token-source.ts";

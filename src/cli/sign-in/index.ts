/** Signing in at a gateway's identity provider, and the token that other verbs present. */

export { hasBrowser } from "./browser.ts";
export type { SignIn } from "./entry.ts";
export { type Caller, readCaller as whoAmI, readOffers, type SignInOffer as Offer } from "./gateway-requests.ts";
export { type GatewayUrl, isExposed, parseGatewayUrl } from "./gateway-url.ts";
export { type Lock, withLock as underLock } from "./lock.ts";
export { printable, SignInError, timeText } from "./messages.ts";
export { obtainSignIn as obtain } from "./obtain.ts";
export {
  type ListedSignIn as Listed,
  openSignInStore as openStore,
  type SignInStore as Store,
  type StoredSignIn as Stored,
} from "./store.ts";
export { createTokenSource as tokenSource, type TokenSource } from "./token-source.ts";

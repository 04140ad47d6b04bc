/** Reads `a2a_cards.signing_keys`. Source: specification document 3 (`a2a_cards`); A2A reference, 9; RFC 7638. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import type { Path, Severity } from "../core/config/index.ts";
import { PLACEHOLDER_SECRET } from "../secrets/index.ts";

export interface CardKey {
  /** Key id: the RFC 7638 thumbprint. */
  readonly kid: string;
  /** Private key on EC P-256. */
  readonly key: KeyObject;
}

export interface CardKeys {
  /** Signing keys; the first one signs. Empty if cards are unsigned. */
  readonly keys: readonly CardKey[];
  /** JSON text of the set of public keys; `undefined` if there are no keys. */
  readonly jwks: string | undefined;
}

type Report = (path: Path, message: string, severity?: Severity) => void;

/** Compiles the signing keys. Messages never quote a key. */
export function compileCardKeys(pems: readonly string[], report: Report): CardKeys {
  const found = new Map<string, { readonly key: KeyObject; readonly jwk: object }>();
  for (const [at, pem] of pems.entries()) {
    // Values sealed in the cluster cannot be checked without the cluster.
    if (pem === PLACEHOLDER_SECRET) continue;
    const path = ["a2a_cards", "signing_keys", at];
    const key = privateKeyIn(pem);
    if (key === undefined) {
      report(path, "this is not a PEM private key without a passphrase");
      continue;
    }
    const curve = key.asymmetricKeyDetails?.namedCurve;
    if (key.asymmetricKeyType !== "ec" || curve !== "prime256v1") {
      const kind = curve ?? key.asymmetricKeyType ?? "unknown";
      report(
        path,
        `this is a key of ${kind}, but agent cards need an EC P-256 key: openssl ecparam -name prime256v1 -genkey`,
      );
      continue;
    }
    const { x = "", y = "" } = createPublicKey(key).export({ format: "jwk" });
    const kid = createHash("sha256")
      .update(JSON.stringify({ crv: "P-256", kty: "EC", x, y }))
      .digest("base64url");
    if (found.has(kid)) report(path, "this key is in the list twice", "warning");
    else found.set(kid, { key, jwk: { kty: "EC", crv: "P-256", x, y, kid, alg: "ES256", use: "sig" } });
  }
  const keys = Array.from(found, ([kid, { key }]) => Object.freeze({ kid, key }));
  const jwks = keys.length === 0 ? undefined : JSON.stringify({ keys: Array.from(found.values(), ({ jwk }) => jwk) });
  return Object.freeze({ keys: Object.freeze(keys), jwks });
}

function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

/**
 * A small OpenID Connect provider for a try on one machine: everybody may sign in as anybody. Sources: OpenID Connect Core
 * (sections 2 and 3.1), RFC 7636 (PKCE), RFC 7638 (thumbprint).
 */
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { createServer } from "node:http";

/** Who can sign in, with the groups of their token. */
const USERS = {
  ada: { groups: ["team-search"], email: "ada@example.com" },
  sam: { groups: ["team-support"], email: "sam@example.com" },
  olga: { groups: ["platform-oncall"], email: "olga@example.com" },
  tom: { groups: ["platform-team"], email: "tom@example.com" },
};

const LIFETIME_S = 3600;
/** Longest body of a token request that is read. */
const MAX_BODY_BYTES = 16_384;

/** Serves on a port of 127.0.0.1. Returns the issuer's URL and a function that closes it. */
export async function startIdentityProvider(port) {
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
  const kid = createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
  /** Codes and refresh tokens that were given, each with what it stands for. */
  const given = new Map();

  const token = (user, audience, more = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, sub: user, aud: audience, iat: now, exp: now + LIFETIME_S, ...USERS[user], ...more };
    const text = [{ alg: "ES256", typ: "JWT", kid }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".");
    return `${text}.${sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  };

  const remember = (grant) => {
    const name = randomBytes(24).toString("base64url");
    given.set(name, grant);
    return name;
  };

  const routes = {
    "/.well-known/openid-configuration": () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
      code_challenge_methods_supported: ["S256"],
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    }),
    "/jwks": () => ({ keys: [{ kty, crv, x, y, kid, alg: "ES256", use: "sig" }] }),
    // For applications, which would sign people in: a token for the data plane.
    "/try/token": (query) =>
      Object.hasOwn(USERS, query.get("user") ?? "")
        ? { access_token: token(query.get("user"), "models", { azp: "notes-app" }), token_type: "Bearer" }
        : { error: "invalid_request" },
  };

  function authorize(query, answer) {
    const redirect = new URL(query.get("redirect_uri") ?? "http://invalid.example");
    if (query.get("client_id") !== "gateway-admin" || redirect.hostname !== "127.0.0.1") return answer(400, "refused");
    const user = query.get("user");
    if (user === null || !Object.hasOwn(USERS, user)) {
      const links = Object.entries(USERS).map(([name, { groups }]) => {
        const next = new URLSearchParams(query);
        next.set("user", name);
        return `<p><a href="/authorize?${next.toString().replaceAll("&", "&amp;")}">${name}</a> (${groups.join(", ")})</p>`;
      });
      return answer(200, `<!doctype html><title>Sign in</title><h1>Sign in as</h1>${links.join("")}`, "text/html");
    }
    const nonce = query.get("nonce");
    const code = remember({ user, challenge: query.get("code_challenge"), ...(nonce !== null && { nonce }) });
    redirect.searchParams.set("code", code);
    redirect.searchParams.set("state", query.get("state") ?? "");
    return answer(302, "", "text/plain", { location: redirect.href });
  }

  function grantOf(form) {
    if (form.get("grant_type") === "client_credentials") return { access_token: remember({}), token_type: "Bearer" };
    const name = form.get("code") ?? form.get("refresh_token") ?? "";
    const grant = given.get(name);
    given.delete(name);
    const proof = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (grant?.user === undefined || (form.has("code") && grant.challenge !== proof)) return { error: "invalid_grant" };
    const { user, nonce } = grant;
    return {
      access_token: remember({}),
      token_type: "Bearer",
      expires_in: LIFETIME_S,
      id_token: token(user, "gateway-admin", { preferred_username: user, ...(nonce !== undefined && { nonce }) }),
      refresh_token: remember({ user }),
    };
  }

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", issuer);
    const answer = (status, text, type = "text/plain", headers = {}) =>
      response.writeHead(status, { "content-type": type, "cache-control": "no-store", ...headers }).end(text);
    const json = (value) => answer(value.error === undefined ? 200 : 400, JSON.stringify(value), "application/json");
    if (pathname === "/authorize") return authorize(searchParams, answer);
    if (Object.hasOwn(routes, pathname)) return json(routes[pathname](searchParams));
    if (pathname !== "/token" || request.method !== "POST") return answer(404, "not found");
    let text = "";
    for await (const chunk of request) {
      text += chunk;
      if (text.length > MAX_BODY_BYTES) return answer(413, "too large");
    }
    return json(grantOf(new URLSearchParams(text)));
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { issuer, close: () => server.close().closeAllConnections() };
}

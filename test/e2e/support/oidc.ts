/**
 * An identity provider in the test's own process: OpenID Connect with sign-in pages, on a free port of 127.0.0.1 over
 * plain HTTP.
 *
 *   const provider = await startOidc(t, { users: { alice: { groups: ["ops"], email: "alice@example.com" } } });
 *   provider.issuer                            the `issuers[].url` of a node file; keys by discovery
 *   await provider.tokens("alice")             { id_token, access_token, refresh_token } through the sign-in pages
 *   await provider.browse(url, { login: "alice" })   acts as a person at an authorization or a device URL
 *   await provider.rotateKeys()                new tokens are signed with a new key
 *
 * An ID token has the client as its audience. An access token is opaque, unless a resource of `resources` is requested
 * (`resource` parameter, RFC 8707): then it is a JWT for that resource's audience, with the user's claims.
 */
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import Provider from "oidc-provider";
import { type Arrived, type Person, walk } from "./oidc-pages.ts";
import { memoryStore } from "./oidc-store.ts";
import { listenLocally } from "./ports.ts";
import { atEnd, type Owner } from "./wait.ts";

/** Claims of a user; `sub` is the user's login. Each is in a token if its scope is granted, see `CLAIMS`. */
interface UserClaims {
  readonly groups?: readonly string[];
  readonly roles?: readonly string[];
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly preferred_username?: string;
  readonly name?: string;
}

/** A public client. */
interface OidcClient {
  readonly id: string;
  /** By default a loopback redirect, at any port of 127.0.0.1. */
  readonly redirectUris?: readonly string[];
  /** By default all three. */
  readonly grants?: readonly ("authorization_code" | "refresh_token" | "device")[];
}

/** An API for which JWT access tokens are issued. */
interface OidcResource {
  /** By default the resource itself. */
  readonly audience?: string;
  readonly scopes?: readonly string[];
}

export interface OidcOptions {
  /** By default one, `gateway-cli`. */
  readonly clients?: readonly OidcClient[];
  /** Users by login, with any password. By default one user, `alice`, without claims. */
  readonly users?: Readonly<Record<string, UserClaims>>;
  /** Resources by URI. */
  readonly resources?: Readonly<Record<string, OidcResource>>;
  /** Lifetimes in seconds; by default an hour, refresh tokens a day, device codes ten minutes. */
  readonly lifetimes?: {
    readonly idToken?: number;
    readonly accessToken?: number;
    readonly refreshToken?: number;
    readonly deviceCode?: number;
  };
  /** When a refresh token is issued: always (the default), or only with the scope `offline_access`. */
  readonly refreshTokens?: "always" | "offline_access";
  /** By default each renewal issues a new refresh token, and a second use of an old one ends the whole grant. */
  readonly isRotating?: boolean;
  /** By default there is a device grant. */
  readonly hasDeviceGrant?: boolean;
  /** Poll interval for devices in seconds; by default 0.05. */
  readonly deviceInterval?: number;
  /** Called when the token endpoint has decided, before the answer is sent. */
  readonly onGrant?: (grant: Grant) => void;
}

interface TokenRequest {
  /** By default the first client. */
  readonly client?: string;
  /** By default `openid email profile groups`. */
  readonly scope?: string;
  readonly resource?: string;
}

interface TokenAnswer {
  readonly id_token: string;
  readonly access_token: string;
  readonly refresh_token?: string;
}

/** A use of the token endpoint. */
export interface Grant {
  /** `authorization_code`, `refresh_token`, `urn:ietf:params:oauth:grant-type:device_code`. */
  readonly type: string;
  /** `ok`, or the code of the refusal. */
  readonly outcome: string;
}

export interface OidcServer {
  readonly issuer: string;
  /** All grants so far, in order. */
  readonly grants: readonly Grant[];
  /** Follows redirects and fills in forms until there are none, and returns where that ended. */
  browse(url: string, person: Person): Promise<Arrived>;
  tokens(login: string, request?: TokenRequest): Promise<TokenAnswer>;
  /** Sets a user's claims for tokens issued from now on, including renewals. */
  setUser(login: string, claims: UserClaims): void;
  /** `isOldKept`: whether the key set still lists the earlier keys, as in a planned rotation (the default). */
  rotateKeys(options?: { readonly isOldKept?: boolean }): Promise<void>;
}

/** Claims by scope. */
const CLAIMS = {
  openid: ["sub"],
  email: ["email", "email_verified"],
  profile: ["name", "preferred_username"],
  groups: ["groups", "roles"],
} as const;

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const HOUR = 3_600;

export async function startOidc(owner: Owner, options: OidcOptions = {}): Promise<OidcServer> {
  const users = new Map(Object.entries(options.users ?? { alice: {} }));
  const grants: Grant[] = [];
  const adapter = memoryStore();
  const cookieKeys = [randomBytes(16).toString("hex")];
  let keys: readonly JWK[] = [await newKey()];
  let handle: ReturnType<Provider["callback"]> = async () => undefined;
  const server = createServer((request, answer) => void handle(request, answer));
  const issuer = `http://127.0.0.1:${await listenLocally(server)}`;
  atEnd(owner, () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });

  const start = () => {
    const provider = quietly(
      () =>
        new Provider(issuer, {
          ...configuration(options, users),
          adapter,
          jwks: { keys },
          cookies: { keys: cookieKeys },
        }),
    );
    const note = (type: unknown, outcome: string) => {
      const grant = { type: String(type), outcome };
      grants.push(grant);
      options.onGrant?.(grant);
    };
    provider.on("grant.success", ({ oidc }) => note(oidc?.params?.["grant_type"], "ok"));
    provider.on("grant.error", ({ oidc }, error) => note(oidc?.params?.["grant_type"], error.error ?? error.message));
    provider.use(async (context, next) => {
      await next();
      const { body } = context;
      if (context.path !== "/device/auth" || typeof body !== "object" || body === null) return;
      context.body = { ...body, interval: options.deviceInterval ?? 0.05 };
    });
    handle = provider.callback();
  };
  start();

  const browse = (url: string, person: Person) => walk(url, issuer, person);
  return {
    issuer,
    grants,
    browse,
    tokens: (login, request = {}) => fetchTokens(issuer, options, (url) => browse(url, { login }), request),
    setUser: (login, claims) => void users.set(login, claims),
    async rotateKeys({ isOldKept = true } = {}) {
      keys = [await newKey(), ...(isOldKept ? keys : [])];
      // A new provider over the old store keeps earlier grants.
      start();
    },
  };
}

function configuration(options: OidcOptions, users: ReadonlyMap<string, UserClaims>): object {
  const { lifetimes = {}, resources = {}, hasDeviceGrant = true, isRotating = true } = options;
  return {
    clients: clientsOf(options).map((client) => clientMetadata(client, hasDeviceGrant)),
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    claims: CLAIMS,
    scopes: ["openid", "offline_access", "email", "profile", "groups"],
    // Claims go into the ID token itself, as with most providers, and not behind another request.
    conformIdTokenClaims: false,
    findAccount: (_: unknown, login: string) =>
      users.has(login) ? { accountId: login, claims: () => ({ sub: login, ...users.get(login) }) } : undefined,
    extraTokenClaims: (_: unknown, token: { readonly accountId?: string }) => users.get(token.accountId ?? ""),
    issueRefreshToken: (_: unknown, client: GrantingClient, code: { readonly scopes: ReadonlySet<string> }) =>
      client.grantTypeAllowed("refresh_token") &&
      (options.refreshTokens !== "offline_access" || code.scopes.has("offline_access")),
    expiresWithSession: () => false,
    rotateRefreshToken: isRotating,
    ttl: {
      AccessToken: lifetimes.accessToken ?? HOUR,
      IdToken: lifetimes.idToken ?? HOUR,
      RefreshToken: lifetimes.refreshToken ?? 24 * HOUR,
      DeviceCode: lifetimes.deviceCode ?? 600,
      Grant: 24 * HOUR,
      Interaction: HOUR,
      Session: 24 * HOUR,
    },
    features: {
      devInteractions: { enabled: true },
      deviceFlow: {
        enabled: hasDeviceGrant,
        userCodeInputSource: showForm,
        userCodeConfirmSource: showForm,
        successSource: (context: { body: unknown }) => {
          context.body = "<p>Signed in.</p>";
        },
      },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo(_: unknown, resource: string) {
          const found = resources[resource];
          if (found === undefined) throw new Error(`no resource ${resource}`);
          return {
            scope: ["openid", "email", "profile", "groups", ...(found.scopes ?? [])].join(" "),
            audience: found.audience ?? resource,
            accessTokenTTL: lifetimes.accessToken ?? HOUR,
            accessTokenFormat: "jwt",
            jwt: { sign: { alg: "ES256" } },
          };
        },
      },
    },
  };
}

function showForm(context: { body: unknown }, form: string): void {
  context.body = form;
}

interface GrantingClient {
  grantTypeAllowed(type: string): boolean;
}

function clientsOf({ clients }: OidcOptions): readonly OidcClient[] {
  return clients ?? [{ id: "gateway-cli" }];
}

function clientMetadata({ id, redirectUris, grants }: OidcClient, hasDeviceGrant: boolean): object {
  const types = (grants ?? ["authorization_code", "refresh_token", "device"]).flatMap((type) => {
    if (type !== "device") return [type];
    return hasDeviceGrant ? [DEVICE_GRANT] : [];
  });
  return {
    client_id: id,
    application_type: "native",
    token_endpoint_auth_method: "none",
    redirect_uris: redirectUris ?? ["http://127.0.0.1/callback"],
    response_types: types.includes("authorization_code") ? ["code"] : [],
    grant_types: types,
  };
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: randomBytes(8).toString("hex"), alg: "ES256", use: "sig" };
}

/** Suppresses the library's warning that this setup is for development only. */
function quietly<Made>(make: () => Made): Made {
  const { warn, info } = console;
  Object.assign(console, { warn: () => undefined, info: () => undefined });
  try {
    return make();
  } finally {
    Object.assign(console, { warn, info });
  }
}

async function fetchTokens(
  issuer: string,
  options: OidcOptions,
  browse: (url: string) => Promise<Arrived>,
  { client = clientsOf(options)[0]?.id ?? "", scope = "openid email profile groups", resource }: TokenRequest,
): Promise<TokenAnswer> {
  const verifier = randomBytes(32).toString("base64url");
  const redirectUri = "http://127.0.0.1/callback";
  const target = resource === undefined ? {} : { resource };
  const query = new URLSearchParams({
    response_type: "code",
    client_id: client,
    redirect_uri: redirectUri,
    scope,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...target,
  });
  const { url } = await browse(`${issuer}/auth?${query}`);
  const code = new URL(url).searchParams.get("code");
  if (code === null) throw new Error(`signing in ended at ${url}`);
  const answer = await fetch(`${issuer}/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: client,
      redirect_uri: redirectUri,
      code,
      code_verifier: verifier,
      ...target,
    }),
  });
  if (!answer.ok) throw new Error(`no tokens: ${await answer.text()}`);
  return (await answer.json()) as TokenAnswer;
}

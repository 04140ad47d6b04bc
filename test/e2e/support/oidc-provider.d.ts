/** The little that tests use of `oidc-provider`, which comes without types. */
declare module "oidc-provider" {
  interface Context {
    readonly method: string;
    readonly path: string;
    body: unknown;
    status: number;
    readonly oidc?: { readonly params?: Readonly<Record<string, unknown>>; readonly client?: object };
  }

  interface IssuedToken {
    resourceServer: object;
    extra?: object;
    save(): Promise<string>;
  }

  export const errors: Readonly<Record<string, new (description: string) => Error>>;

  export default class Provider {
    constructor(issuer: string, configuration: object);
    readonly AccessToken: new (
      facts: object,
    ) => IssuedToken;
    readonly ResourceServer: new (
      identifier: string,
      facts: object,
    ) => object;
    registerGrantType(
      name: string,
      handler: (context: Context, next: () => Promise<void>) => Promise<void>,
      parameters: readonly string[],
      repeated: readonly string[],
    ): void;
    callback(): (
      request: import("node:http").IncomingMessage,
      answer: import("node:http").ServerResponse,
    ) => Promise<void>;
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): this;
    on(event: "grant.success", listener: (context: Context) => void): this;
    on(event: "grant.error", listener: (context: Context, error: Error & { readonly error?: string }) => void): this;
  }
}

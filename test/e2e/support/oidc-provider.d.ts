/** The little that tests use of `oidc-provider`, which comes without types. */
declare module "oidc-provider" {
  interface Context {
    readonly method: string;
    readonly path: string;
    body: unknown;
    readonly oidc?: { readonly params?: Readonly<Record<string, unknown>> };
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (
      request: import("node:http").IncomingMessage,
      answer: import("node:http").ServerResponse,
    ) => Promise<void>;
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): this;
    on(event: "grant.success", listener: (context: Context) => void): this;
    on(event: "grant.error", listener: (context: Context, error: Error & { readonly error?: string }) => void): this;
  }
}

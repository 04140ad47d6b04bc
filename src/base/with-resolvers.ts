/**
 * Replacement for `Promise.withResolvers` of ECMAScript 2024, which Node 20 lacks. An unhandled rejection of the
 * promise is ignored.
 */
export interface Resolvers<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

export function withResolvers<Value = void>(): Resolvers<Value> {
  let resolve: (value: Value) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<Value>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

/**
 * Two paths of a node file, read without judging the rest of it: where its secrets are, which its own references need,
 * and which deployment document it names, so that the errors of both documents are told at once.
 */
import { parseDocument } from "yaml";

export interface Glance {
  readonly secretsDir: string | undefined;
  readonly deployment: string | undefined;
}

export function glance(text: string, env: Readonly<Record<string, string | undefined>>): Glance {
  const read = (value: unknown): string | undefined =>
    typeof value === "string"
      ? value.replace(/\$\{([A-Za-z_]\w*)\}/g, (_, name: string) => env[name] ?? "")
      : undefined;
  try {
    const { secrets_dir: secretsDir, deployment } = parseDocument(text).toJS({ maxAliasCount: 0 }) ?? {};
    return { secretsDir: read(secretsDir), deployment: read(deployment) };
  } catch {
    return { secretsDir: undefined, deployment: undefined }; // the reader says what is wrong with it
  }
}

/**
 * Checks of `gateway check` for local files that a start reads. They need no network, so `check -offline` runs them
 * too. Source: design decisions, section 20, "`check -offline`".
 */

import { X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import type { NodeFile } from "../../server/core/config/index.ts";
import { ConfigurationRefused, keySourcesOf, readTextSync, resolveBeside } from "../../server/node/index.ts";
import { certificateAnswers } from "./certificate-checks.ts";
import type { Answer } from "./probe.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export async function localFileAnswers(nodeFile: NodeFile, path: string, env: Environment): Promise<readonly Answer[]> {
  return [
    ...keyAnswers(nodeFile, path, env),
    ...(await certificateAnswers(nodeFile, path)),
    ...rootAnswers(nodeFile, path),
    ...secretsAnswers(nodeFile, path),
  ];
}

/** Loads the keys as a start does, and returns the problems. */
function keyAnswers(nodeFile: NodeFile, path: string, env: Environment): readonly Answer[] {
  try {
    keySourcesOf(nodeFile, path, env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationRefused)) throw error;
    return error.problems.map((problem) => {
      const [, subject = "configuration", message = problem] = /^([\w.]+): (.*)$/s.exec(problem) ?? [];
      return { verdict: "fail", subject, message };
    });
  }
}

function rootAnswers({ issuers = [] }: NodeFile, path: string): readonly Answer[] {
  return issuers.flatMap(({ name, ca_file: file }): readonly Answer[] => {
    if (!file) return [];
    const subject = `issuer ${name}`;
    const read = readTextSync(resolveBeside(path, file));
    if (read.kind === "problem") return [{ verdict: "fail", subject, message: `ca_file: ${read.message}` }];
    const found = read.text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
    const isSound = found.length > 0 && found.every(isCertificate);
    return isSound
      ? []
      : [{ verdict: "fail", subject, message: `ca_file: ${file} does not contain PEM certificates only` }];
  });
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

function secretsAnswers({ secrets_dir: dir }: NodeFile, path: string): readonly Answer[] {
  if (dir === undefined) return [];
  const whole = resolveBeside(path, dir);
  const isFolder = statSync(whole, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder) return [];
  return [
    { verdict: "fail", subject: "secrets_dir", message: `${whole} is not a directory: create it, or correct the path` },
  ];
}

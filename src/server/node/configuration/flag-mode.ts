/** Compiles one provider described by flags, like any deployment document. */
import {
  type Deployment,
  formatProblem,
  type Problem,
  type References,
  readDeployment,
} from "../../core/config/index.ts";
import { compileDeployment, type Snapshot } from "../../snapshot/index.ts";

interface ProviderFlags {
  readonly preset?: string | undefined;
  readonly upstream?: string | undefined;
  readonly dialect: string;
  /** Aliases in the form `client=upstream`. */
  readonly alias: readonly string[];
  readonly maxBodyBytes: number;
}

type FlagSnapshot =
  | { readonly kind: "compiled"; readonly snapshot: Snapshot }
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Makers of the two dialects, whose roots are the defaults of `-upstream`. */
const DEFAULT_PRESETS: Readonly<Record<string, string>> = { compat: "openai", messages: "anthropic" };

/** Flag of each key of the document, so that an error names the flag that was typed. */
const FLAG_BY_KEY: Readonly<Record<string, string>> = {
  preset: "-preset",
  base_url: "-upstream",
  dialect: "-dialect",
  model_aliases: "-alias",
  region: "-preset",
};

/** Flags contain no references: similar text is meant literally. */
const NO_REFERENCES: References = {
  env: () => undefined,
  secret: () => ({ kind: "problem", message: "references are not allowed in flags" }),
  file: () => ({ kind: "problem", message: "references are not allowed in flags" }),
};

export function compileFlags(flags: ProviderFlags): FlagSnapshot {
  const aliases: Record<string, string> = {};
  for (const pair of flags.alias) {
    const at = pair.indexOf("=");
    if (at <= 0 || at === pair.length - 1) {
      return { kind: "refused", problems: [`-alias: expected CLIENT=UPSTREAM, found ${JSON.stringify(pair)}`] };
    }
    aliases[pair.slice(0, at)] = pair.slice(at + 1);
  }
  const preset = flags.preset ?? (flags.upstream === undefined ? DEFAULT_PRESETS[flags.dialect] : undefined);
  const endpoint =
    preset === undefined ? { name: "default", dialect: flags.dialect, base_url: flags.upstream } : { preset };
  const document = {
    max_body_bytes: flags.maxBodyBytes,
    providers: [{ ...endpoint, model_aliases: aliases }],
  } satisfies Partial<Record<keyof Deployment, unknown>>;
  const text = JSON.stringify(document).replaceAll("${", "$$${");
  const compiled = compileDeployment({
    deployment: readDeployment({ name: "flags", text }, NO_REFERENCES),
    fileOverlays: [],
    limitRev: 0,
    trusted: undefined,
    rules: undefined,
  });
  return compiled.kind === "compiled" ? compiled : { kind: "refused", problems: compiled.problems.map(problemText) };
}

function problemText(problem: Problem): string {
  const key = /^providers\[0\]\.([a-z_]+)/.exec(problem.path)?.[1];
  const flag = key === undefined ? undefined : FLAG_BY_KEY[key];
  return flag === undefined ? formatProblem(problem) : `${flag}: ${problem.message}`;
}

/** Checks of `models`: the artifacts themselves, and the references of detectors to them. Spec: document 3, `models`. */

import type { Path, Problem, ProblemAt } from "../../problem.ts";
import type { Deployment } from "../deployment.ts";
import type { Check } from "./check.ts";

type Model = NonNullable<Deployment["models"]>["models"][number];
type File = NonNullable<Model["files"]>[number];

export const checkModels: Check = ({ models, guardrails }, problem) => {
  const references = new Set(
    (guardrails?.detectors ?? []).flatMap(({ nlp, classify, embed }) => [nlp?.ref, classify?.ref, embed?.ref]),
  );
  return (models?.models ?? []).flatMap((model, at) => {
    const path = ["models", "models", at];
    return [
      ...kindProblems(model, problem, path),
      ...hubProblems(model, problem, path),
      ...fileProblems(model, problem, path),
      ...(references.has(model.name)
        ? []
        : [problem(path, "no detector refers to this model, so it is not downloaded", "warning")]),
    ];
  });
};

function kindProblems({ hub, files = [] }: Model, problem: ProblemAt, path: Path): readonly Problem[] {
  const isListed = files.length > 0;
  if (isListed !== (hub !== undefined)) return [];
  const message = isListed
    ? "with `hub` the files come from the hub: remove `files`"
    : "a model needs `hub` or `files`";
  return [problem(path, message)];
}

function hubProblems({ hub }: Model, problem: ProblemAt, path: Path): readonly Problem[] {
  if (hub?.endpoint === undefined || !URL.canParse(hub.endpoint)) return [];
  const { protocol, hostname, search, hash } = new URL(hub.endpoint);
  const at = [...path, "hub", "endpoint"];
  if (search !== "" || hash !== "") return [problem(at, "the URL of a hub must not have a query or fragment")];
  if (protocol === "https:" || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return [];
  const message =
    "the URL of a hub must begin with https, unless it is on this machine: its digests decide what is loaded";
  return [problem(at, message)];
}

/** Roles of which a model has at most one file. */
const SINGLE: ReadonlySet<File["role"]> = new Set(["graph", "tokenizer", "config", "special_tokens_map"]);

function fileProblems({ files = [] }: Model, problem: ProblemAt, path: Path): readonly Problem[] {
  const seen = new Set<string>();
  return files.flatMap(({ role, url }, at) => {
    const kind = role === "model" ? "graph" : role;
    const name = SINGLE.has(kind) ? kind : (url.split(/[?#]/)[0] ?? "").split("/").at(-1);
    const isSecond = seen.has(`${kind} ${name}`);
    seen.add(`${kind} ${name}`);
    if (!isSecond) return [];
    const message = SINGLE.has(kind)
      ? `a model has one file of role \`${kind}\``
      : `two files of role \`${kind}\` have the same name`;
    return [problem([...path, "files", at], message)];
  });
}

/** Checks references to models with listed files. The files of a hub model are not known here. */
export const checkReferences: Check = ({ models, guardrails }, problem) => {
  const listed = new Map(
    (models?.models ?? []).flatMap(({ name, hub, files = [] }) =>
      hub === undefined && files.length > 0 ? [[name, new Set<string>(files.map(({ role }) => role))] as const] : [],
    ),
  );
  return (guardrails?.detectors ?? []).flatMap((detector, at) =>
    (["nlp", "classify", "embed"] as const).flatMap((type) => {
      const config = detector[type];
      const roles = listed.get(config?.ref ?? "");
      if (config === undefined || roles === undefined) return [];
      const path = ["guardrails", "detectors", at, type, "ref"];
      const missingKey = (role: string): Problem =>
        problem(path, `the files of ${JSON.stringify(config.ref)} have none of role \`${role}\``);
      return [
        ...(config.remote === undefined && !roles.has("graph") && !roles.has("model") ? [missingKey("graph")] : []),
        ...(config.tokenizer === undefined && !roles.has("tokenizer") ? [missingKey("tokenizer")] : []),
      ];
    }),
  );
};

/**
 * Recognizers of tokens with a specific form: a prefix, a length, an alphabet, for some a checksum. If the form is not
 * specific, the vendor's name must precede it. Source: guardrails reference, 1.7.
 */

import { isCrc32Base62 } from "../../../../core/guardrails/index.ts";
import type { Proof, TextPattern } from "../../types.ts";
import { bitsPerCharacter, isPlaceholder, standsApart } from "./text.ts";

interface Form {
  readonly name: string;
  readonly entity: string;
  readonly regex: string;
  readonly keywords: readonly string[];
  readonly score?: number;
  /** Minimum entropy, in bits per character. */
  readonly bits?: number;
  /** Pattern of characters that may not be next to the token. */
  readonly inside?: RegExp;
  readonly isAnyCase?: boolean;
  readonly proof?: (value: string) => Proof;
}

const WORD = /[A-Za-z0-9_]/;
const BASE64 = /[A-Za-z0-9+/]/;
const URL_SAFE = /[A-Za-z0-9_-]/;
const HEX = "[0-9a-fA-F]";

/** Returns a pattern of the vendor's name, followed within a few characters by an assignment and the value. */
const beside = (names: string, value: string): string =>
  `(?:${names})[\\w .-]{0,30}["'\\\\]{0,4}\\s{0,3}(?:=>|:=|=|:|%3D|\\s)\\s{0,3}["'\\\\]{0,4}(?<value>${value})`;

const sumAfter =
  (prefix: number) =>
  (value: string): Proof =>
    isCrc32Base62(value.slice(prefix));

export const FORMS: readonly Form[] = [
  {
    name: "Github",
    entity: "GITHUB_TOKEN",
    regex: "gh[pousr]_[0-9A-Za-z]{36}",
    keywords: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
    proof: sumAfter(4),
  },
  {
    name: "GithubServer",
    entity: "GITHUB_TOKEN",
    regex: "ghs_[0-9A-Za-z]{1,40}_eyJ[A-Za-z0-9._-]{36,1000}",
    keywords: ["ghs_"],
    bits: 3,
    inside: URL_SAFE,
  },
  {
    name: "GithubFineGrained",
    entity: "GITHUB_FINE_GRAINED_TOKEN",
    regex: "github_pat_[0-9A-Za-z]{22}_[0-9A-Za-z]{59}",
    keywords: ["github_pat_"],
    bits: 3,
  },
  { name: "Npm", entity: "NPM_TOKEN", regex: "npm_[0-9A-Za-z]{36}", keywords: ["npm_"], proof: sumAfter(4) },
  {
    name: "GatewayKey",
    entity: "GATEWAY_KEY",
    regex: "gwk_[0-9A-Za-z]{8}_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}",
    keywords: ["gwk_"],
    inside: URL_SAFE,
    proof: (value) => isCrc32Base62(value),
  },
  {
    name: "AwsAccessKey",
    entity: "AWS_ACCESS_KEY_ID",
    regex: "(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z2-7]{16}",
    keywords: ["akia", "asia", "abia", "acca", "a3t"],
    bits: 3,
  },
  {
    name: "AwsSecretKey",
    entity: "AWS_SECRET_ACCESS_KEY",
    regex: beside("aws|secret_?(?:access_?)?key|secretaccesskey|(?:AKIA|ASIA)[A-Z2-7]{16}", "[A-Za-z0-9+/]{40}"),
    keywords: ["aws", "secret", "akia", "asia"],
    bits: 4.25,
    inside: BASE64,
    isAnyCase: true,
  },
  {
    name: "AwsBedrock",
    entity: "AWS_BEDROCK_KEY",
    regex: "(?:ABSK[A-Za-z0-9+/]{109,269}={0,2}|bedrock-api-key-[A-Za-z0-9+/]{40,1000}[A-Za-z0-9+/]{0,1000}={0,2})",
    keywords: ["absk", "bedrock-api-key-"],
    bits: 3,
    inside: BASE64,
  },
  {
    name: "GcpApiKey",
    entity: "GCP_API_KEY",
    regex: "AIza[\\w-]{35}",
    keywords: ["aiza"],
    bits: 3.7,
    inside: URL_SAFE,
  },
  {
    name: "AzureClientSecret",
    entity: "AZURE_CLIENT_SECRET",
    regex: "[A-Za-z0-9_~.]{3}\\dQ~[A-Za-z0-9_~.-]{31,34}",
    keywords: ["q~"],
    bits: 3,
    inside: /[\w~-]/,
  },
  {
    name: "AzureStorage",
    entity: "AZURE_STORAGE_KEY",
    regex: "AccountKey {0,2}= {0,2}(?<value>[A-Za-z0-9+/]{86}==)",
    keywords: ["accountkey"],
    bits: 4,
    isAnyCase: true,
    inside: BASE64,
  },
  {
    name: "Slack",
    entity: "SLACK_TOKEN",
    regex:
      "(?:xoxb-\\d{10,13}-\\d{10,13}[A-Za-z0-9-]{10,60}|xox[pe]-(?:\\d{10,13}-){3}[A-Za-z0-9-]{28,34}|xapp-\\d-[A-Z0-9]{5,20}-\\d{8,20}-[a-z0-9]{20,80}|xoxe\\.xox[bp]-\\d-[A-Za-z0-9]{163,166})",
    keywords: ["xox", "xapp-"],
    bits: 2.5,
    isAnyCase: true,
    inside: URL_SAFE,
  },
  {
    name: "SlackWebhook",
    entity: "SLACK_WEBHOOK",
    regex: "(?:https?://)?hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,56}",
    keywords: ["hooks.slack.com"],
    bits: 3.5,
    inside: BASE64,
  },
  {
    name: "Stripe",
    entity: "STRIPE_KEY",
    regex: "(?:sk|rk)_(?:live|test|prod)_[0-9A-Za-z]{10,247}",
    keywords: ["_live_", "_test_", "_prod_"],
    bits: 3,
  },
  {
    name: "OpenAi",
    entity: "OPENAI_API_KEY",
    regex:
      "sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{58,74}T3BlbkFJ[A-Za-z0-9_-]{58,74}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})",
    keywords: ["t3blbkfj"],
    bits: 3,
    inside: URL_SAFE,
  },
  {
    name: "Anthropic",
    entity: "ANTHROPIC_API_KEY",
    regex: "sk-ant-(?:api03|admin01)-[A-Za-z0-9_-]{93}AA",
    keywords: ["sk-ant-"],
    bits: 3,
    inside: URL_SAFE,
  },
  {
    name: "HuggingFace",
    entity: "HUGGINGFACE_TOKEN",
    regex: "(?:hf_|api_org_)[A-Za-z]{34}",
    keywords: ["hf_", "api_org_"],
    bits: 3,
  },
  {
    name: "Cohere",
    entity: "COHERE_API_KEY",
    regex: beside("cohere|co_api_key", "[A-Za-z0-9]{40}"),
    keywords: ["cohere", "co_api_key"],
    bits: 4,
    isAnyCase: true,
  },
  { name: "Perplexity", entity: "PERPLEXITY_API_KEY", regex: "pplx-[A-Za-z0-9]{48}", keywords: ["pplx-"], bits: 4 },
  {
    name: "Gitlab",
    entity: "GITLAB_TOKEN",
    regex:
      "(?:glpat-(?:[\\w-]{27,300}\\.[0-9a-z]{2}\\.?[0-9a-z]{7}|[\\w-]{20})|gl(?:dt|ft|rt|ptt)-[\\w-]{20,40}|glsoat-[\\w-]{20}|gloas-[0-9a-f]{64}|GR1348941[\\w-]{20})",
    keywords: ["glpat-", "gldt-", "glft-", "glrt-", "glptt-", "glsoat-", "gloas-", "gr1348941"],
    bits: 3,
    inside: URL_SAFE,
  },
  {
    name: "Sendgrid",
    entity: "SENDGRID_API_KEY",
    regex: "SG\\.[\\w-]{22}\\.[\\w-]{43}",
    keywords: ["sg."],
    bits: 3.5,
    inside: URL_SAFE,
  },
  { name: "Twilio", entity: "TWILIO_KEY", regex: `(?:SK|AC)${HEX}{32}`, keywords: ["sk", "ac"], bits: 3 },
  {
    name: "Telegram",
    entity: "TELEGRAM_BOT_TOKEN",
    regex: "\\d{5,16}:A[\\w-]{34}",
    keywords: [":a"],
    bits: 3.5,
    inside: URL_SAFE,
  },
  {
    name: "Discord",
    entity: "DISCORD_TOKEN",
    regex: "[MNO][A-Za-z0-9]{23,25}\\.[\\w-]{6}\\.[\\w-]{27,38}",
    keywords: ["."],
    bits: 4,
    inside: URL_SAFE,
  },
  { name: "DigitalOcean", entity: "DIGITALOCEAN_TOKEN", regex: "do[opr]_v1_[0-9a-f]{64}", keywords: ["_v1_"], bits: 3 },
  { name: "Databricks", entity: "DATABRICKS_TOKEN", regex: "dapi[0-9a-f]{32}(?:-\\d)?", keywords: ["dapi"], bits: 3 },
  {
    name: "Vault",
    entity: "VAULT_TOKEN",
    regex: "(?:hvs\\.[\\w-]{90,120}|hvb\\.[\\w-]{138,300})",
    keywords: ["hvs.", "hvb."],
    bits: 3,
    inside: URL_SAFE,
  },
  {
    name: "Pypi",
    entity: "PYPI_TOKEN",
    regex: "pypi-AgEIcHlwaS5vcmc[\\w-]{50,1000}",
    keywords: ["pypi-ageichlwas5vcmc"],
    bits: 3,
    inside: URL_SAFE,
  },
  {
    name: "Shopify",
    entity: "SHOPIFY_TOKEN",
    regex: `shp(?:at|ca|pa|ss)_${HEX}{32}`,
    keywords: ["shpat_", "shpca_", "shppa_", "shpss_"],
    bits: 3,
  },
  {
    name: "Square",
    entity: "SQUARE_TOKEN",
    regex: "(?:EAAA|sq0atp-)[\\w-]{22,60}",
    keywords: ["eaaa", "sq0atp-"],
    bits: 3.5,
    inside: /[\w+/-]/,
  },
  { name: "Linear", entity: "LINEAR_API_KEY", regex: "lin_api_[A-Za-z0-9]{40}", keywords: ["lin_api_"], bits: 3 },
  { name: "Notion", entity: "NOTION_TOKEN", regex: "ntn_\\d{11}[A-Za-z0-9]{35}", keywords: ["ntn_"], bits: 3 },
  { name: "Postman", entity: "POSTMAN_API_KEY", regex: `PMAK-${HEX}{24}-${HEX}{34}`, keywords: ["pmak-"], bits: 3 },
  { name: "Pulumi", entity: "PULUMI_TOKEN", regex: "pul-[0-9a-f]{40}", keywords: ["pul-"], bits: 3 },
  { name: "RubyGems", entity: "RUBYGEMS_API_KEY", regex: "rubygems_[0-9a-f]{48}", keywords: ["rubygems_"], bits: 3 },
  { name: "Grafana", entity: "GRAFANA_TOKEN", regex: `glsa_[A-Za-z0-9]{32}_${HEX}{8}`, keywords: ["glsa_"], bits: 3 },
  {
    name: "Okta",
    entity: "OKTA_TOKEN",
    regex: beside("okta|ssws", "00[\\w-]{40}"),
    keywords: ["okta", "ssws"],
    bits: 4,
    isAnyCase: true,
    inside: URL_SAFE,
  },
  { name: "Doppler", entity: "DOPPLER_TOKEN", regex: "dp\\.pt\\.[A-Za-z0-9]{43}", keywords: ["dp.pt."], bits: 3 },
  {
    name: "Dynatrace",
    entity: "DYNATRACE_TOKEN",
    regex: "dt0c01\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}",
    keywords: ["dt0c01."],
    bits: 3,
  },
  {
    name: "Fly",
    entity: "FLY_TOKEN",
    regex: "(?:fo1_[\\w-]{43}|fm2_[A-Za-z0-9+/]{100,800}={0,3})",
    keywords: ["fo1_", "fm2_"],
    bits: 3.5,
    inside: /[\w+/-]/,
  },
  {
    name: "PlanetScale",
    entity: "PLANETSCALE_TOKEN",
    regex: "pscale_(?:tkn|pw|oauth)_[\\w.=-]{32,64}",
    keywords: ["pscale_"],
    bits: 3,
  },
  {
    name: "Sentry",
    entity: "SENTRY_TOKEN",
    regex: "(?:sntrys_eyJ[A-Za-z0-9+/=_-]{80,500}|sntryu_[0-9a-f]{64})",
    keywords: ["sntrys_", "sntryu_"],
    bits: 3,
  },
  { name: "Mailgun", entity: "MAILGUN_API_KEY", regex: "key-[0-9a-f]{32}", keywords: ["key-"], bits: 3 },
  { name: "Mailchimp", entity: "MAILCHIMP_API_KEY", regex: "[0-9a-f]{32}-us\\d{1,2}", keywords: ["-us"], bits: 3 },
  {
    name: "Heroku",
    entity: "HEROKU_API_KEY",
    regex: "HRKU-AA[\\w-]{58}",
    keywords: ["hrku-aa"],
    bits: 4,
    inside: URL_SAFE,
  },
  {
    name: "HerokuUuid",
    entity: "HEROKU_API_KEY",
    regex: beside("heroku", `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`),
    keywords: ["heroku"],
    bits: 3,
    isAnyCase: true,
  },
  {
    name: "Atlassian",
    entity: "ATLASSIAN_TOKEN",
    regex: "ATATT3[A-Za-z0-9_=-]{186}",
    keywords: ["atatt3"],
    bits: 3.5,
    inside: URL_SAFE,
  },
  {
    name: "Datadog",
    entity: "DATADOG_API_KEY",
    regex: beside("datadog|dd_(?:api|app)_key", "[0-9a-f]{40}|[0-9a-f]{32}"),
    keywords: ["datadog", "dd_api_key", "dd_app_key"],
    bits: 3,
    isAnyCase: true,
  },
  { name: "NewRelic", entity: "NEWRELIC_API_KEY", regex: "NRAK-[A-Z0-9]{27}", keywords: ["nrak-"], bits: 3 },
];

/** Score of a match. It is above the 0.5 that rules require, since the form alone identifies the token. */
const FORM_SCORE = 0.85;

export function patternOf({ name, regex, keywords, score, bits, inside, isAnyCase, proof }: Form): TextPattern {
  return {
    kind: "text",
    name,
    score: score ?? FORM_SCORE,
    regex,
    keywords,
    ...(isAnyCase === true ? {} : { isCaseSensitive: true }),
    validate: (value, around) => {
      if (!standsApart(around, inside ?? WORD)) return false;
      if (bits !== undefined && bitsPerCharacter(value) < bits) return false;
      return isPlaceholder(value) ? false : proof?.(value);
    },
  };
}

const BEGINNINGS =
  /^(?:gh[pousr]_|github_pat_|npm_|gwk_|AKIA|ASIA|AIza|xox|xapp-|[sr]k_(?:live|test|prod)_|sk-(?:proj|ant|svcacct|admin)-|hf_|gl(?:pat|dt|ft|rt|ptt|soat)-|SG\.|do[opr]_v1_|dapi[0-9a-f]{8}|hv[sb]\.|pypi-|shp(?:at|ca|pa|ss)_|pplx-|lin_api_|ntn_|PMAK-|pul-|rubygems_|glsa_|dp\.pt\.|dt0c01\.|pscale_|sntry[su]_|HRKU-|ATATT3|NRAK-|eyJ)/;

/** Returns whether one of the forms above decides about the value, so that general patterns skip it. */
export function hasForm(value: string): boolean {
  return BEGINNINGS.test(value);
}

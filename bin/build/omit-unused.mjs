/**
 * Plugin of esbuild that leaves out parts of packages that the program never uses. Otherwise every process would load
 * them at its start.
 */

const NAMESPACE = "unused";

const FAILS = 'throw new Error("this part of a package is not in the bundle: see bin/build/omit-unused.mjs");';

/**
 * `from`: matches the importing file; `path`: matches the import; `contents`: replacement that is just enough for the
 * importing file to load.
 */
const PARTS = [
  // React's developer tools, which Ink loads if DEV is set, and file systems of React Native.
  {
    from: /./,
    path: /^(react-devtools-core|react-native-fs|react-native-fetch-blob)$/,
    contents: "export default { initialize() {}, connectToDevTools() {} };",
  },
  // undici's browser APIs, which would make Node.js load its own copy too; its mocks for tests; its caches.
  {
    from: /[\\/]undici[\\/]index\.js$/,
    path: /^\.\/lib\/(web|mock|cache|interceptor)\//,
    contents: "module.exports = { CacheStorage: class {} };",
  },
  // Fastify's validation and serialization, which the program does itself, and its injected requests, which are for
  // tests.
  {
    from: /[\\/]fastify[\\/]/,
    path: /^(@fastify\/ajv-compiler|@fastify\/fast-json-stringify-compiler|light-my-request)$/,
    contents: `module.exports = () => () => { ${FAILS} };`,
  },
];

export const withoutUnused = {
  name: "without-unused",
  setup(build) {
    for (const [at, part] of PARTS.entries()) {
      build.onResolve({ filter: part.path }, ({ path, importer }) =>
        part.from.test(importer) ? { path, namespace: NAMESPACE, pluginData: at } : undefined,
      );
    }
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ pluginData }) => ({
      contents: PARTS[pluginData].contents,
    }));
  },
};

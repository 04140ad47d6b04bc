/**
 * Parts of packages that are loaded with the package and that the product never uses: left out of the bundles, since every
 * process would read them at its start.
 */

const NAMESPACE = "unused";

const FAILS = 'throw new Error("this part of a package is not in the bundle: see bin/build/unused.mjs");';

/** `from`: the file that asks; `path`: what for; `contents`: what it gets, which has to do for the file to load. */
const PARTS = [
  // React's developer tools, which Ink loads where DEV says so, and the file systems of phones.
  {
    from: /./,
    path: /^(react-devtools-core|react-native-fs|react-native-fetch-blob)$/,
    contents: "export default { initialize() {}, connectToDevTools() {} };",
  },
  // Omits browser APIs (which would make Node.js load its own copy as well), mocks for tests, and caches.
  {
    from: /[\\/]undici[\\/]index\.js$/,
    path: /^\.\/lib\/(web|mock|cache|interceptor)\//,
    contents: "module.exports = { CacheStorage: class {} };",
  },
  // Schemas are ours to check and answers ours to write; injected requests are for tests.
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

/** Everything behind the command's first file; each part is loaded when a command reaches it. */
export const loadRpc = () => import('./rpc.js');
export const loadCli = () => import('../cli/main.js');

export * as library from 'node:https';

export * as library from 'node:http';

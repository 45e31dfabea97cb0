export * from '@tangle-network/agent-eval-contract';

/** Before a file of tests that is repeated on the production engines: see repetition.ts. */
process.env.REPEATED_ON_PRODUCTION_ENGINES = 'yes';

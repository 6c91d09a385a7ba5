# The service's image: built in one stage, run as a non-root user in another.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json tsconfig.build.json build.mjs README.md CHANGELOG.md SECURITY.md ./
COPY src ./src
COPY docs ./docs
COPY console ./console
# What is optional serves the build.
RUN npm ci && npm prune --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# A new volume takes over owner and mode; what an older one allows others is taken away at the start.
RUN mkdir --mode=0700 /data && chown node:node /data \
  && ln -s /app/dist/bundle/index.js /usr/local/bin/dynamic-assets
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/bundle/index.js"]
CMD ["start"]

#!/bin/bash
# Starts what Spark asks for in a pod: `driver ARGUMENTS...`, `executor`, or any other command as it is.
#
# Spark passes the arguments of a driver as words, and everything about an executor in the environment. Options of
# the executor's Java are in SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1 and so on.
set -euo pipefail

if ! getent passwd "$(id -u)" >/dev/null && [ -w /etc/passwd ]; then
  echo "spark-$(id -u):x:$(id -u):$(id -g)::/opt/work:/bin/false" >>/etc/passwd
fi

case "${1:-}" in
  driver)
    shift
    exec tini -s -- "$SPARK_HOME/bin/spark-submit" \
      --deploy-mode client --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" "$@"
    ;;
  executor)
    options=()
    for ((n = 0; ; n++)); do
      name="SPARK_JAVA_OPT_$n"
      [ -n "${!name+set}" ] || break
      options+=("${!name}")
    done
    classes="${SPARK_CONF_DIR:-$SPARK_HOME/conf}:${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/jars/*"
    exec tini -s -- java "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" -cp "$classes" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
      --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
      --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
    ;;
  *)
    exec tini -s -- "$@"
    ;;
esac

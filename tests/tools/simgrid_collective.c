/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A collective operation as an MPI program, for SimGrid's smpirun: its own algorithms,
 * except for linear. `simgrid_collective linear|bcast|allgather|alltoall BYTES`: each
 * process prints its time in seconds. BYTES are those of the whole, with alltoall those
 * from each process to each other one.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void send_to_all(char *data, int bytes, int rank, int size)
{
	if (rank)
		MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		for (int to = 1; to < size; to++)
			MPI_Ssend(data, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, size, bytes;
	char *data, *all;
	size_t room;
	double start;

	MPI_Init(&argc, &argv);
	if (argc != 3)
		return 2;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	bytes = atoi(argv[2]);
	room = (size_t)bytes * (strcmp(argv[1], "alltoall") ? 1 : (size_t)size);
	data = calloc(room, 1);
	all = calloc(room, 1);
	if (!data || !all)
		return 1;
	start = MPI_Wtime();
	if (!strcmp(argv[1], "linear"))
		send_to_all(data, bytes, rank, size);
	else if (!strcmp(argv[1], "bcast"))
		MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
	else if (!strcmp(argv[1], "alltoall"))
		MPI_Alltoall(data, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
	else
		MPI_Allgather(data, bytes / size, MPI_BYTE, all, bytes / size, MPI_BYTE,
			      MPI_COMM_WORLD);
	printf("%.12f\n", MPI_Wtime() - start);
	free(data);
	free(all);
	MPI_Finalize();
	return 0;
}
